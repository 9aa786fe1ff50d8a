// Records a run as lines of JSON: each call with its outcome, each fault, and the final state. The judge reads nothing
// else, so a run can be judged again. Times are ms of one clock that is never set.
import { openSync, readFileSync, writeSync } from 'node:fs'
import { codeOf, isMade } from './changes.ts'
import type { Call, Reply, Server } from './server-place.ts'

/** One try of a call at one server. */
export interface CallAttempt {
  readonly kind: 'call'
  readonly server: string
  readonly method: string
  readonly path: string
  readonly by: string
  readonly key?: string // Idempotency-Key, the same in each try
  readonly sent?: number // value of a register
  readonly got?: number
  readonly began: number
  readonly ended: number
  readonly status: number // 0: no answer
  readonly code: string
}

export interface Fault {
  readonly kind: 'fault'
  readonly fault: string
  readonly of: string
  readonly began: number
  readonly ended: number
}

/** A server has exited although nobody killed it. */
export interface ServerExit {
  readonly kind: 'ended'
  readonly server: string
  readonly code: number | string
  readonly at: number
}

/** A standby that was behind has taken over. */
export interface StandbyPromotion {
  readonly kind: 'promoted'
  readonly began: number // everything stored until then is in the standby
  readonly killed: number // the primary
  readonly ended: number // from now on, servers reach the standby
  readonly restored: number // each server has detected it
  readonly stored: Values // in the standby when it took over
}

/** The final state after all faults. */
export interface End {
  readonly kind: 'end'
  readonly stored: Values
  readonly agentRules: readonly (readonly [string, number])[] // rules of all agents, with their values
  readonly audited: readonly (readonly [string, number])[] // an entry for each change: rule and value
  readonly totals: Readonly<Record<string, Bytes>> // by rule, in the store
  readonly counted: Readonly<Record<string, Bytes>> // by agents
}

/** By rule. */
export type Values = Readonly<Record<string, number>>

export interface Bytes {
  readonly bytesIn: number
  readonly bytesOut: number
}

export type Line = CallAttempt | Fault | ServerExit | StandbyPromotion | End

export interface Recorder {
  add(line: Line): void
  /** The number of acknowledged writes. */
  written(): number
}

export function openRecorder(file: string): Recorder {
  const out = openSync(file, 'wx')
  let written = 0
  return {
    add(line) {
      writeSync(out, `${JSON.stringify(line)}\n`)
      if (isWritten(line)) written++
    },
    written: () => written
  }
}

export const isWritten = (line: Line): line is CallAttempt =>
  line.kind === 'call' && line.method === 'PATCH' && isMade(line)

export const readRecord = (file: string): Line[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map(line => JSON.parse(line) as Line)

/** Returns the port of the first target: the value of a rule as a register. */
export const registerOf = (body: object | undefined): number | undefined =>
  (body as { readonly targets?: readonly { readonly port: number }[] } | undefined)?.targets?.[0]?.port

/** Wraps a server so that each call is in the log. */
export const recorded = (server: Server, { add }: Recorder): Server => ({
  ...server,
  async call(call) {
    const began = performance.now()
    const reply = await server.call(call)
    add(lineOf(server.id, call, reply, began))
    return reply
  }
})

function lineOf(
  server: string,
  { method, path, body, key, by }: Call,
  reply: Reply,
  began: number
): CallAttempt {
  const sent = registerOf(body)
  const got = registerOf(reply.body)
  return {
    kind: 'call',
    server,
    method,
    path,
    by: by?.name ?? 'operator',
    began,
    ended: performance.now(),
    ...(key !== undefined && { key }),
    ...(sent !== undefined && { sent }),
    ...(got !== undefined && { got }),
    status: reply.status,
    code: codeOf(reply.body)
  }
}
