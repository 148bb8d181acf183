"""Packages installed in a Debian guest that has no way to the network."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.network import ssh_servers
from support.network.ssh_servers import SshServer

from sfcperf.errors import DeploymentError
from sfcperf.hosts.provision import install
from sfcperf.hosts.ssh import SshHost

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(bool(ssh_servers.lacking()), reason=ssh_servers.lacking()),
    pytest.mark.skipif(not Path("/etc/debian_version").exists(), reason="needs Debian or Ubuntu"),
    pytest.mark.skipif(
        "overlay" not in Path("/proc/filesystems").read_text(), reason="needs overlayfs"
    ),
]

# httperf and ab are gone; an archive of packages in a folder has httperf alone.
PREPARE = """
dpkg --purge --force-depends httperf apache2-utils >/dev/null
rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/* /var/lib/apt/lists/* /etc/apt/apt.conf.d/*
mkdir -p /archive/new/DEBIAN /archive/new/usr/bin
printf "Package: httperf\\nVersion: 99\\nArchitecture: all\\nMaintainer: x <x@example.org>\\n" \\
    >/archive/new/DEBIAN/control
printf "Description: x\\n" >>/archive/new/DEBIAN/control
printf "#!/bin/sh\\necho ours\\n" >/archive/new/usr/bin/httperf
chmod 755 /archive/new/usr/bin/httperf
dpkg-deb --build /archive/new /archive/httperf.deb >/dev/null
cd /archive
{ cat new/DEBIAN/control
  echo "Filename: ./httperf.deb"
  echo "Size: $(stat -c %s httperf.deb)"
  echo "SHA256: $(sha256sum httperf.deb | cut -d " " -f 1)"; } >Packages
echo "deb [trusted=yes] file:/archive ./" >/etc/apt/sources.list
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshServer]:
    with ssh_servers.debian(tmp_path_factory.mktemp("guest"), PREPARE) as made:
        yield made


@pytest.fixture(scope="module")
def host(server: SshServer) -> Iterator[SshHost]:
    made = SshHost("guest", server.access, Path("/tmp/sfcperf"))
    made.wait_reachable(20)
    yield made
    made.close()


def test_what_is_missing_is_installed_once(host: SshHost, tmp_path: Path) -> None:
    assert install(host, ["ping", "httperf", "ip"], tmp_path / "first") == ("httperf",)
    assert host.run(["httperf"], timeout_s=10).text == "ours\n"
    assert install(host, ["ping", "httperf", "ip"], tmp_path / "second") == ()
    assert not (tmp_path / "second").exists()  # Ansible was not even started
    assert "ansible" not in host.run(["ps", "-ef"], timeout_s=10).text
    argv = ["pgrep", "-f", f"ssh.*{host.access.address}"]
    assert subprocess.run(argv, capture_output=True).returncode == 1


@pytest.mark.exhaustive
def test_what_no_package_provides(host: SshHost, tmp_path: Path) -> None:
    with pytest.raises(DeploymentError, match=r"ab could not be installed on guest.*apache2-utils"):
        install(host, ["ab", "ping"], tmp_path)
    with pytest.raises(DeploymentError, match="no-such-tool"):
        install(host, ["no-such-tool"], tmp_path)


def test_a_guest_without_python_and_packages(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    with ssh_servers.dropbear(tmp_path_factory.mktemp("tiny")) as server:
        host = SshHost("tiny", server.access, Path("/tmp/sfcperf"))
        host.wait_reachable(20)
        with pytest.raises(DeploymentError, match="neither Python nor a package manager") as caught:
            install(host, ["ping"], tmp_path)
        assert "carry" in (caught.value.hint or "")
        host.close()
