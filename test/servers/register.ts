// Uses rules as registers, each with one writer and many readers at all servers. The log of the run has all reads.
import { setTimeout as pause } from 'node:timers/promises'
import { decide } from './changes.ts'
import { oneOf, type ServerPlace } from './server-place.ts'

const restMs = 100
const patienceMs = 3_000

export const firstValue = 65_535 // target port of a new rule: it counts as 0

/** Writes 1, 2, 3 and so on as the target port of each rule, and reads it, until `end` is called. */
export function runRegisters({ servers }: Pick<ServerPlace, 'servers'>, ruleIds: readonly string[]) {
  let isEnding = false

  async function write(path: string): Promise<void> {
    for (let value = 1; !isEnding; value++) {
      const body = { targets: [{ host: '127.0.0.1', port: value }] }
      await decide(servers, { method: 'PATCH', path, body, withinMs: 200 + Math.random() * patienceMs })
      await pause(Math.random() * restMs)
    }
  }

  async function read(path: string): Promise<void> {
    while (!isEnding) {
      await oneOf(servers).call({ method: 'GET', path, withinMs: patienceMs })
      await pause(Math.random() * restMs)
    }
  }

  const running = ruleIds.map(id => `/v1/rules/${id}`).flatMap(path => [write(path), read(path), read(path)])
  return {
    async end(): Promise<void> {
      isEnding = true
      await Promise.all(running)
    }
  }
}
