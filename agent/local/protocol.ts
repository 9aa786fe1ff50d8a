// The protocol of the agent's socket: one line of JSON from the command line, one line from the agent.
import type { Socket } from 'node:net'
import { join } from 'node:path'

export interface Question {
  readonly command: string
  readonly args: Readonly<Record<string, unknown>>
}

/** `exit` is the exit code for the command line. */
export type Answer =
  | { readonly ok: true; readonly value: object }
  | { readonly ok: false; readonly code: string; readonly exit: number; readonly message: string }

export const maxQuestionBytes = 64 * 1024
export const maxAnswerBytes = 1024 * 1024

export const socketPathIn = (stateDir: string): string => join(stateDir, 'agent.sock')

/** The shortest limit of all systems: 104 bytes with the final zero. */
const maxPathBytes = 103

/** Returns why a socket cannot have this path, or null. */
export function pathProblem(path: string): string | null {
  const bytes = Buffer.byteLength(path)
  return bytes <= maxPathBytes
    ? null
    : `the socket path ${path} has ${bytes} bytes, at most ${maxPathBytes} are possible: give a shorter state_dir`
}

/** Resolves with the first line; null: the peer closed first. Rejects with RangeError beyond `maxBytes`. */
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
