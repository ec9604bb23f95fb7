// The worker of quota-blind in JavaScript for Node: requests on the main thread, the parts of jobs
// on libuv's pool of threads.
//
// Reads "r ID ROUNDS", a request, and "b ID PARTS ROUNDS", a job of so many parts; answers "ID"
// when it is done.
'use strict';
const crypto = require('crypto');
const fs = require('fs');
const os = require('os');
const readline = require('readline');

let sink = 0;

function work(rounds) {
  let value = 1;
  for (let i = 0; i < rounds; i++) {
    value = (Math.imul(value, 1664525) + i) | 0;
  }
  sink ^= value;
}

function answer(line) {
  fs.writeSync(1, line + '\n');
}

const threads = Number(process.env.UV_THREADPOOL_SIZE) || 4;
answer(`ready ${threads} ${process.version}`);
readline.createInterface({ input: process.stdin }).on('line', (line) => {
  const words = line.split(' ');
  if (words.length === 3 && words[0] === 'r') {
    work(Number(words[2]));
    answer(words[1]);
  } else if (words.length === 4 && words[0] === 'b') {
    let left = Number(words[2]);
    for (let i = Number(words[2]); i > 0; i--) {
      crypto.pbkdf2('job', 'part', Number(words[3]), 32, 'sha256', () => {
        left -= 1;
        if (left === 0) answer(words[1]);
      });
    }
  }
}).on('close', () => process.exit(0));
