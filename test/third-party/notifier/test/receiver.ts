// A receiver of notes. It answers 204, or as a test has told it.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'

export interface Note {
  readonly note_id: string
  readonly event: string
  readonly text: string
  readonly path: string // of the request
  readonly [key: string]: unknown
}

type Answer = (response: ServerResponse) => void

export interface Receiver {
  readonly origin: string
  readonly notes: readonly Note[]
  /** Resolves with the n-th note (from 1). */
  note(n: number): Promise<Note>
  /** Answers the next request for the path in this way. Answers of one path are used in order. */
  answerNext(path: string, answer: Answer): void
}

export const status =
  (code: number, headers: Record<string, string> = {}): Answer =>
  response =>
    response.writeHead(code, headers).end()

/** Each note goes to its own path, so that a test can tell users apart. */
export async function openReceiver(t: { teardown(release: () => unknown): void }): Promise<Receiver> {
  const notes: Note[] = []
  const answers = new Map<string, Answer[]>()
  const waiting = new Set<() => void>()
  const server = createServer(async (request: IncomingMessage, response: ServerResponse) => {
    const path = request.url ?? ''
    notes.push({ ...((await json(request)) as Note), path })
    const answer = answers.get(path)?.shift() ?? status(204)
    answer(response)
    for (const check of waiting) check()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    notes,
    note: n =>
      new Promise(resolve => {
        const check = (): void => {
          const note = notes[n - 1]
          if (!note) return
          waiting.delete(check)
          resolve(note)
        }
        waiting.add(check)
        check()
      }),
    answerNext: (path, answer) => answers.set(path, [...(answers.get(path) ?? []), answer])
  }
}
