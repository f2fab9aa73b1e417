//! A server of one connection a request, whose every reaction a test decides.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Seen {
    pub path: String,
    pub authorization: Option<String>,
    pub body: Value,
    /// How often the same request came before.
    pub before: usize,
}

/// What the server does about a request.
pub enum Act {
    /// 200 with this document.
    Answer(Value),
    /// This status, these further header lines and this body.
    Status(u16, &'static str, String),
    /// Half an answer, then the connection ends.
    Cut,
    /// Half an answer, and no more until the client leaves.
    Slow,
    /// This document, a byte every so often.
    Drip(Value, Duration),
}

type Respond = dyn Fn(&Seen) -> Act + Send + Sync;

struct State {
    respond: Box<Respond>,
    seen: Mutex<Vec<Seen>>,
    counts: Mutex<HashMap<String, usize>>,
    now: AtomicUsize,
    most: AtomicUsize,
    stopped: AtomicBool,
}

pub struct Server {
    address: SocketAddr,
    state: Arc<State>,
    accepting: Option<std::thread::JoinHandle<()>>,
}

impl Server {
    pub fn start(respond: impl Fn(&Seen) -> Act + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State {
            respond: Box::new(respond),
            seen: Mutex::default(),
            counts: Mutex::default(),
            now: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
        });
        let shared = state.clone();
        let accepting = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if shared.stopped.load(Ordering::SeqCst) {
                    break;
                }
                let state = shared.clone();
                std::thread::spawn(move || {
                    // A client that leaves early is none of the server's business.
                    let _ = serve(&state, stream.unwrap());
                });
            }
        });
        Self {
            address,
            state,
            accepting: Some(accepting),
        }
    }

    /// The address of its API with `options`.
    pub fn url(&self, options: &str) -> String {
        format!("http://{}/v1?model=toy&{options}", self.address)
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.state.seen.lock().unwrap().clone()
    }

    pub fn requests(&self) -> usize {
        self.state.seen.lock().unwrap().len()
    }

    /// The most requests that were ever in its hands at once.
    pub fn most_at_once(&self) -> usize {
        self.state.most.load(Ordering::SeqCst)
    }

    /// From now on nobody listens.
    pub fn stop(&mut self) {
        let Some(accepting) = self.accepting.take() else {
            return;
        };
        self.state.stopped.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(self.address));
        accepting.join().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

fn serve(state: &State, stream: TcpStream) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let (path, authorization, body) = read(&mut reader)?;
    let now = state.now.fetch_add(1, Ordering::SeqCst) + 1;
    state.most.fetch_max(now, Ordering::SeqCst);
    let before = {
        let mut counts = state.counts.lock().unwrap();
        let count = counts.entry(format!("{path} {body}")).or_default();
        *count += 1;
        *count - 1
    };
    let seen = Seen {
        path,
        authorization,
        body,
        before,
    };
    state.seen.lock().unwrap().push(seen.clone());
    let act = (state.respond)(&seen);
    state.now.fetch_sub(1, Ordering::SeqCst);
    let mut stream = stream;
    match act {
        Act::Answer(document) => write(&mut stream, 200, "", &document.to_string()),
        Act::Status(status, headers, body) => write(&mut stream, status, headers, &body),
        Act::Cut => half(&mut stream),
        Act::Drip(document, pause) => {
            let body = document.to_string();
            let length = body.len();
            write!(
                stream,
                "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n"
            )?;
            for byte in body.bytes() {
                stream.write_all(&[byte])?;
                std::thread::sleep(pause);
            }
            Ok(())
        }
        Act::Slow => {
            half(&mut stream)?;
            reader.read(&mut [0]).map(drop)
        }
    }
}

fn half(stream: &mut TcpStream) -> std::io::Result<()> {
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{\"choices\": [")
}

fn write(stream: &mut TcpStream, status: u16, headers: &str, body: &str) -> std::io::Result<()> {
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status} X\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

fn read(reader: &mut impl BufRead) -> std::io::Result<(String, Option<String>, Value)> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let (mut length, mut authorization) = (0, None);
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim().split_once(": ") else {
            break;
        };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().unwrap(),
            "authorization" => authorization = Some(value.to_owned()),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok((path, authorization, serde_json::from_slice(&body)?))
}
