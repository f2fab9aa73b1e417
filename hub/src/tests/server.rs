//! A hub on this machine: the few requests that a download makes, and the ways in which they fail.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A file of the repository.
#[derive(Clone)]
pub struct HubFile {
    pub name: String,
    pub content: Vec<u8>,
    /// For a large file, the SHA-256 that the hub states; `None` for a small one.
    pub sha256: Option<String>,
}

/// What the repository `org/name` holds and how the hub behaves.
#[derive(Clone, Default)]
pub struct Behaviour {
    pub files: Vec<HubFile>,
    /// Downloads are refused.
    pub gated: bool,
    /// This many bodies of large files break off in the middle.
    pub truncated: usize,
    /// This many bodies of large files stop in the middle, with the connection open.
    pub stalled: usize,
    /// Bodies of large files come in pieces, with pauses that are longer together than a download may be silent.
    pub dripping: bool,
    /// Whole files are sent, whatever part is asked for.
    pub whole: bool,
    /// The repository has another name by now, and the old one redirects to it.
    pub renamed: bool,
}

/// The commit of every revision.
pub const COMMIT: &str = "0123456789012345678901234567890123456789";

/// A running hub. It ends with the process.
pub struct FakeHub {
    pub endpoint: String,
    behaviour: Arc<Mutex<Behaviour>>,
    requests: Arc<Mutex<Vec<String>>>,
}

impl FakeHub {
    /// Starts to serve.
    pub fn start(behaviour: Behaviour) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let endpoint = format!("http://{}", listener.local_addr().expect("an address"));
        let hub = Self {
            endpoint,
            behaviour: Arc::new(Mutex::new(behaviour)),
            requests: Arc::default(),
        };
        let (behaviour, requests) = (hub.behaviour.clone(), hub.requests.clone());
        let base = hub.endpoint.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (behaviour, requests) = (behaviour.clone(), requests.clone());
                let base = base.clone();
                std::thread::spawn(move || {
                    // A client that hangs up early is part of the tests.
                    let _ = serve(stream, &behaviour, &requests, &base);
                });
            }
        });
        hub
    }

    /// Changes the behaviour from now on.
    pub fn change(&self, change: impl FnOnce(&mut Behaviour)) {
        change(&mut self.behaviour.lock().unwrap());
    }

    /// `METHOD path range` of every request so far.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

fn serve(
    mut stream: TcpStream,
    behaviour: &Mutex<Behaviour>,
    requests: &Mutex<Vec<String>>,
    base: &str,
) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let first = lines.next().unwrap_or(Ok(String::new()))?;
    let mut range = None;
    for line in lines {
        let line = line?.to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("range: bytes=") {
            range = Some(value.to_owned());
        }
    }
    let mut words = first.split(' ');
    let (method, path) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    let seen = format!("{method} {path} {}", range.as_deref().unwrap_or("-"));
    requests.lock().unwrap().push(seen);
    let now = behaviour.lock().unwrap().clone();
    let path = path.split('?').next().unwrap_or("");
    if path.starts_with("/api/models/org/name/revision/") {
        return answer(&mut stream, "200 OK", &[], listing(&now).as_bytes(), method);
    }
    let (file, stored) = match path.strip_prefix("/storage/") {
        Some(name) => (name, true),
        None => match path
            .strip_prefix("/org/name/resolve/")
            .or_else(|| path.strip_prefix("/org/new/resolve/"))
            .and_then(|rest| rest.split_once('/'))
        {
            Some((_, name)) => (name, false),
            None => return answer(&mut stream, "404 Not Found", &[], b"", method),
        },
    };
    if now.renamed && path.starts_with("/org/name/") {
        let there = [format!("location: {}", path.replace("/name/", "/new/"))];
        return answer(&mut stream, "307 Temporary Redirect", &there, b"", method);
    }
    if now.gated {
        let said = ["x-error-message: Access to model org/name is restricted".to_owned()];
        return answer(&mut stream, "401 Unauthorized", &said, b"", method);
    }
    let Some(file) = now.files.iter().find(|known| known.name == file) else {
        return answer(&mut stream, "404 Not Found", &[], b"", method);
    };
    let mut headers = vec![format!("x-repo-commit: {COMMIT}")];
    match &file.sha256 {
        Some(sha256) if !stored => {
            headers.push(format!("x-linked-etag: \"{sha256}\""));
            headers.push(format!("location: {base}/storage/{}", file.name));
            return answer(&mut stream, "302 Found", &headers, b"", method);
        }
        _ => headers.push(format!("etag: \"{}\"", blob(file))),
    }
    let length = file.content.len();
    let asked = range.as_deref().filter(|_| !now.whole);
    let status = match asked {
        Some(_) => "206 Partial Content",
        None => "200 OK",
    };
    let (from, to) = match asked.and_then(|range| range.split_once('-')) {
        Some((from, to)) => (
            from.parse().unwrap_or(0),
            to.parse().map_or(length, |to: usize| to + 1),
        ),
        None => (0, length),
    };
    if from >= length {
        return answer(
            &mut stream,
            "416 Range Not Satisfiable",
            &headers,
            b"",
            method,
        );
    }
    if asked.is_some() {
        headers.push(format!("content-range: bytes {from}-{}/{length}", to - 1));
    }
    let body = &file.content[from..to];
    if file.sha256.is_some() && body.len() > 1 && now.truncated > 0 {
        behaviour.lock().unwrap().truncated -= 1;
        let head = head(status, &headers, body.len());
        stream.write_all(head.as_bytes())?;
        return stream.write_all(&body[..body.len() / 2]);
    }
    if file.sha256.is_some() && method == "GET" && now.stalled > 0 {
        behaviour.lock().unwrap().stalled -= 1;
        stream.write_all(head(status, &headers, body.len()).as_bytes())?;
        stream.write_all(&body[..body.len() / 2])?;
        std::thread::sleep(Duration::from_secs(60));
        return Ok(());
    }
    if file.sha256.is_some() && method == "GET" && now.dripping {
        stream.write_all(head(status, &headers, body.len()).as_bytes())?;
        for piece in body.chunks(body.len().div_ceil(6)) {
            stream.write_all(piece)?;
            std::thread::sleep(Duration::from_millis(700));
        }
        return Ok(());
    }
    answer(&mut stream, status, &headers, body, method)
}

fn head(status: &str, headers: &[String], length: usize) -> String {
    let mut head =
        format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n");
    for header in headers {
        head += &format!("{header}\r\n");
    }
    head + "\r\n"
}

fn answer(
    stream: &mut TcpStream,
    status: &str,
    headers: &[String],
    body: &[u8],
    method: &str,
) -> std::io::Result<()> {
    stream.write_all(head(status, headers, body.len()).as_bytes())?;
    if method != "HEAD" {
        stream.write_all(body)?;
    }
    Ok(())
}

/// The name of a small file's content; only its form matters.
fn blob(file: &HubFile) -> String {
    format!("{:040x}", file.content.len() * 1000 + file.name.len())
}

fn listing(behaviour: &Behaviour) -> String {
    let siblings: Vec<String> = behaviour
        .files
        .iter()
        .map(|file| {
            let lfs = file.sha256.as_ref().map_or(String::new(), |sha256| {
                format!(
                    r#","lfs":{{"sha256":"{sha256}","size":{}}}"#,
                    file.content.len()
                )
            });
            format!(
                r#"{{"rfilename":"{}","size":{},"blobId":"{}"{lfs}}}"#,
                file.name,
                file.content.len(),
                blob(file)
            )
        })
        .collect();
    format!(
        r#"{{"id":"org/name","sha":"{COMMIT}","siblings":[{}]}}"#,
        siblings.join(",")
    )
}
