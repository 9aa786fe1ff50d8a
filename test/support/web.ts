// A web server process (a page, and bodies of any size with known content), a server that sends zeros, and downloads.
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { get as httpGet } from 'node:http'
import { createServer } from 'node:net'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import { spawnChild } from './child-process.ts'

const program = `
import { createServer } from 'node:http'
const block = Buffer.alloc(1 << 20)
for (let at = 0; at < block.length; at += 4) block.writeUInt32LE(Math.imul(at ^ 0x9e3779b9, 2654435761) >>> 0, at)
const server = createServer((request, response) => {
  const [, mib] = /^\\/mib\\/(\\d+)/.exec(request.url) ?? []
  if (mib === undefined) return response.end('hello from ' + request.socket.localAddress)
  let left = Number(mib)
  response.setHeader('content-length', left * block.length)
  const write = () => {
    while (left > 0) if (left-- && !response.write(block)) return response.once('drain', write)
    response.end()
  }
  write()
})
server.listen({ host: process.argv[1], port: 0 }, () => console.log(server.address().port))
`

/** Starts the web server. Returns its port. */
export async function startWebServer(t: Test, host = '127.0.0.1'): Promise<number> {
  const child = spawnChild(process.execPath, ['--input-type=module', '-e', program, host], { stdio: 'pipe' })
  t.teardown(async () => {
    child.kill('SIGKILL')
    await once(child, 'exit')
  })
  for await (const line of createInterface({ input: child.stdout })) return Number(line)
  throw new Error('the web server did not start')
}

/** Starts a server that sends endless zeros on every connection once there are `minConnections`. Returns its port. */
export async function startZeroServer(t: Pick<Test, 'teardown'>, minConnections = 1): Promise<number> {
  const block = Buffer.alloc(64 * 1024)
  const enough = Promise.withResolvers<void>()
  let count = 0
  const server = createServer(socket => {
    const sendZeros = (): void => {
      while (!socket.destroyed && socket.write(block));
    }
    socket.on('drain', sendZeros).on('error', () => {})
    if (++count >= minConnections) enough.resolve()
    void enough.promise.then(sendZeros)
  }).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  return (server.address() as { port: number }).port // a TCP address
}

/** Returns the SHA-256 of the body of /mib/N. */
export function hashOfMib(mib: number): string {
  const block = Buffer.alloc(1 << 20)
  for (let at = 0; at < block.length; at += 4)
    block.writeUInt32LE(Math.imul(at ^ 0x9e3779b9, 2654435761) >>> 0, at)
  const hash = createHash('sha256')
  for (let left = mib; left > 0; left--) hash.update(block)
  return hash.digest('hex')
}

export interface Download {
  readonly bytes: () => number
  readonly hash: Promise<string>
  /** Resolves when at least `bytes` bytes have arrived. */
  reached(bytes: number): Promise<void>
}

/** Starts a download, which stops reading at `pauseAtBytes` until `resume`. `hash` resolves with the complete body. */
export function download(
  url: string,
  pauseAtBytes = Number.POSITIVE_INFINITY
): Download & { resume(): void } {
  let bytes = 0
  const waiting = new Map<number, () => void>()
  const resumed = Promise.withResolvers<void>()
  const read = async (): Promise<string> => {
    const reply = await fetch(url)
    const hash = createHash('sha256')
    for await (const chunk of reply.body ?? []) {
      bytes += chunk.length
      hash.update(chunk)
      for (const [count, resolve] of waiting) if (bytes >= count) resolve()
      if (bytes >= pauseAtBytes) await resumed.promise
    }
    return hash.digest('hex')
  }
  const hash = read()
  hash.catch(() => {}) // handled where it is awaited
  return {
    bytes: () => bytes,
    hash,
    resume: resumed.resolve,
    reached: count =>
      new Promise((resolve, reject) => {
        waiting.set(count, resolve)
        hash.catch(reject)
        if (bytes >= count) resolve()
      })
  }
}

/** Gets a page and closes the connection, so that a drain does not wait for it. */
export async function get(url: string): Promise<string> {
  const request = httpGet(url, { agent: false })
  const [reply] = await once(request, 'response')
  return text(reply)
}
