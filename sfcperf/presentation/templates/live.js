// In a page that `sfcperf report --serve` sends: load it again when the run has changed.
"use strict";

(() => {
  const PAUSE_MS = 3000;

  async function look() {
    try {
      const answer = await fetch(location.pathname, { method: "HEAD", cache: "no-store" });
      if (answer.ok && answer.headers.get("ETag") !== document.body.dataset.version) {
        location.reload();
        return;
      }
    } catch {
      // The server has ended; the page stays as it is.
      return;
    }
    setTimeout(look, PAUSE_MS);
  }

  setTimeout(look, PAUSE_MS);
})();
