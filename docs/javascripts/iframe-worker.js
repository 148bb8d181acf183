// Lets the search of the site work in pages that were opened from files, where browsers start no
// Web Workers: the worker's script runs in a hidden frame. The theme asks for the name IFrameWorker.
"use strict";

window.IFrameWorker = class extends EventTarget {
  constructor(url) {
    super();
    const frame = document.createElement("iframe");
    frame.hidden = true;
    document.body.append(frame);
    const inside = frame.contentWindow;
    // Firefox replaces the document of a new frame later, unless it was written.
    inside.document.open();
    inside.document.write("<!doctype html><body>");
    inside.document.close();
    const load = (source) => new Promise((resolve, reject) => {
      const script = inside.document.createElement("script");
      script.onload = resolve;
      script.onerror = () => reject(new Error(`${source} cannot be loaded`));
      script.src = source;
      inside.document.body.append(script);
    });
    inside.importScripts = async (...sources) => {
      for (const source of sources) await load(source);
    };
    inside.postMessage = (data) => setTimeout(() => this.receive(data));
    this.frame = frame;
    this.started = load(url);
    this.started.catch((error) => this.dispatchEvent(new ErrorEvent("error", { error })));
  }

  async postMessage(data) {
    await this.started;
    const inside = this.frame.contentWindow;
    inside.dispatchEvent(new inside.MessageEvent("message", { data: structuredClone(data) }));
  }

  receive(data) {
    const event = new MessageEvent("message", { data: structuredClone(data) });
    this.dispatchEvent(event);
    this.onmessage?.(event);
  }

  terminate() {
    this.frame.remove();
  }
};

if (location.protocol === "file:") window.Worker = window.IFrameWorker;
