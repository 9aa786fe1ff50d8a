// A started server process, as its API callers and agents see it.
import { setTimeout as pause } from 'node:timers/promises'
import type { Process } from './process.ts'

/** Resolves once the server listens. Calls use `token` unless they have another one. */
export async function awaitServer(child: Process, token: string) {
  const started = await child.until('server.started')
  const at = { port: Number(started['control_port']), fingerprint: String(started['server_cert_sha256']) }
  const call = async (method: string, path: string, body?: object, bearer = token) => {
    const reply = await fetch(`${started['origin']}${path}`, {
      method,
      headers: { authorization: `Bearer ${bearer}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) })
    })
    const text = await reply.text()
    return { status: reply.status, body: text === '' ? null : JSON.parse(text) }
  }
  return { ...child, at, call }
}

/** Polls until the answer fits. */
export async function until<T>(ask: () => Promise<T>, fits: (answer: T) => boolean): Promise<T> {
  for (;;) {
    const answer = await ask()
    if (fits(answer)) return answer
    await pause(20)
  }
}
