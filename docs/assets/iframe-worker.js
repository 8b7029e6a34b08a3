// Lets the search work when the site is read straight from the disk. Browsers refuse to start a worker from a file: page,
// so there its script runs in a hidden frame, behind the same interface. Pages that come from a server keep real workers.
class IFrameWorker extends EventTarget {
  constructor(url) {
    super();
    const frame = document.createElement("iframe");
    frame.hidden = true;
    document.body.appendChild(frame);
    this.inside = frame.contentWindow;
    this.inside.postMessage = (data) => {
      const message = new MessageEvent("message", { data });
      this.dispatchEvent(message);
      if (this.onmessage) this.onmessage(message);
    };
    this.inside.importScripts = (...urls) =>
      urls.reduce((before, next) => before.then(() => this.load(next)), Promise.resolve());
    this.ready = this.load(url);
  }

  load(url) {
    return new Promise((loaded, failed) => {
      const script = this.inside.document.createElement("script");
      script.src = url;
      script.onload = loaded;
      script.onerror = failed;
      this.inside.document.body.appendChild(script);
    });
  }

  postMessage(data) {
    this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })));
  }

  terminate() {
    this.inside.frameElement.remove();
  }
}

if (location.protocol === "file:") {
  window.IFrameWorker = IFrameWorker;
  window.Worker = IFrameWorker;
}
