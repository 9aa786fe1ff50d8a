// What the command line and a running agent say to each other on the agent's socket: one line of JSON each.
import type { Socket } from 'node:net'
import { join } from 'node:path'

export interface Question {
  readonly command: string
  readonly args: Readonly<Record<string, unknown>>
}

/** `exit` is the exit code of the command line. */
export type Answer =
  | { readonly ok: true; readonly value: object }
  | { readonly ok: false; readonly code: string; readonly exit: number; readonly message: string }

export const maxQuestionBytes = 64 * 1024
export const maxAnswerBytes = 1024 * 1024

export const socketPathIn = (stateDir: string): string => join(stateDir, 'agent.sock')

/** The room that every system has in a socket's address: 104 bytes with the final zero. */
const maxPathBytes = 103

/** Returns why no socket can be at this path; null: one can. */
export function pathProblem(path: string): string | null {
  const bytes = Buffer.byteLength(path)
  return bytes <= maxPathBytes
    ? null
    : `the path ${path} has ${bytes} bytes, and a socket's at most ${maxPathBytes}: give a shorter state_dir`
}

/** Resolves with the first line; null: the other side has ended before. Rejects with RangeError beyond `maxBytes`. */
export function readLine(socket: Socket, maxBytes: number): Promise<string | null> {
  const { promise, resolve, reject } = Promise.withResolvers<string | null>()
  const chunks: Buffer[] = []
  let bytes = 0
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > maxBytes) return reject(new RangeError(`a line has more than ${maxBytes} bytes`))
    chunks.push(chunk)
    if (chunk.includes(0x0a)) resolve(Buffer.concat(chunks).toString('utf8').split('\n', 1)[0] ?? '')
  })
  socket.on('error', reject)
  socket.on('close', () => resolve(null))
  return promise
}
