"""A real OpenStack on one machine, for tests: `make openstack-up`.

Keystone, Glance, Placement, Nova (libvirt, emulated guests), Neutron with networking-sfc, Heat and
Tacker from the packages of Debian 12, in namespaces of their own: the rest of the machine sees
none of it. docs/how-to/openstack-on-one-machine.md is the guide.
"""
