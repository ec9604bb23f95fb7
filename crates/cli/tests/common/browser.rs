//! Drives Debian's Chromium without a window, over its debugging pipe.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

/// A browser with one page, and all events of that page.
pub struct Browser {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    session: String,
    calls: u64,
    /// Requests, console messages and errors since the page was opened.
    pub events: Vec<Value>,
    _home: tempfile::TempDir,
}

impl Browser {
    /// Starts a browser. Without Chromium, prints that and returns None.
    pub fn start() -> Option<Self> {
        if Command::new("chromium").arg("--version").output().is_err() {
            testing::skipped("needs chromium (apt-get install chromium)");
            return None;
        }
        let home = tempfile::tempdir().unwrap();
        // A browser run by root has no sandbox. It opens only files of the test.
        let script = "exec chromium --headless --no-sandbox --disable-gpu --no-first-run \
             --disable-background-networking --disable-dev-shm-usage --remote-debugging-pipe \
             --user-data-dir=\"$1\" about:blank 3<&0 4>&1 </dev/null >/dev/null 2>&1";
        let mut child = Command::new("sh")
            .args(["-c", script, "sh"])
            .arg(home.path())
            .env("HOME", home.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (to, from) = (child.stdin.take().unwrap(), messages(child.stdout.take().unwrap()));
        let (session, events) = (String::new(), Vec::new());
        let mut browser = Browser { child, to, from, session, calls: 0, events, _home: home };
        browser.attach();
        Some(browser)
    }

    fn attach(&mut self) {
        // The page may not exist yet.
        let id = super::wait_for("a page", || {
            let targets = self.call("Target.getTargets", json!({}));
            let all = targets["targetInfos"].as_array().unwrap();
            Some(all.iter().find(|target| target["type"] == "page")?["targetId"].clone())
        });
        let attached =
            self.call("Target.attachToTarget", json!({ "targetId": id, "flatten": true }));
        self.session = attached["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page", "Runtime", "Network", "Log"] {
            self.call(&format!("{domain}.enable"), json!({}));
        }
    }

    /// Opens a file at this width, with a light or dark colour scheme.
    pub fn open(&mut self, file: &Path, width: u32, scheme: &str) {
        let metrics =
            json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.call("Emulation.setDeviceMetricsOverride", metrics);
        let feature = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call("Emulation.setEmulatedMedia", json!({ "features": feature }));
        self.events.clear();
        let url = format!("file://{}", file.display());
        let opened = self.call("Page.navigate", json!({ "url": url }));
        assert!(opened.get("errorText").is_none(), "{opened}");
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.read();
            self.events.push(event);
        }
    }

    /// The value of an expression in the page.
    pub fn value(&mut self, expression: &str) -> Value {
        let asked = json!({ "expression": expression, "returnByValue": true });
        let answer = self.call("Runtime.evaluate", asked);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// A picture of the whole page as PNG, in base64.
    pub fn picture(&mut self) -> String {
        let asked = json!({ "format": "png", "captureBeyondViewport": true });
        self.call("Page.captureScreenshot", asked)["data"].as_str().unwrap().to_owned()
    }

    fn call(&mut self, method: &str, params: Value) -> Value {
        self.calls += 1;
        let mut message = json!({ "id": self.calls, "method": method, "params": params });
        if !self.session.is_empty() {
            message["sessionId"] = self.session.clone().into();
        }
        self.to.write_all(message.to_string().as_bytes()).unwrap();
        self.to.write_all(&[0]).unwrap();
        loop {
            let mut answer = self.read();
            if answer["id"] == self.calls {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].take();
            }
            self.events.push(answer);
        }
    }

    fn read(&self) -> Value {
        let read = self.from.recv_timeout(super::PATIENCE);
        read.unwrap_or_else(|error| panic!("no message from the browser: {error}"))
    }
}

/// The messages of a browser. A thread reads them until the browser has gone, so that the wait for
/// one can have a limit.
fn messages(out: ChildStdout) -> Receiver<Value> {
    let (to, from) = channel();
    std::thread::spawn(move || {
        for bytes in BufReader::new(out).split(0) {
            let message = bytes.ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
            let Some(message) = message else { return };
            if to.send(message).is_err() {
                return;
            }
        }
    });
    from
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Its children end when the pipe is closed; the browser itself might not.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
