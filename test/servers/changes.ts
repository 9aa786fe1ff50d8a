// Callers that make changes at any server, and know of each what has become of it.
import { setTimeout as pause } from 'node:timers/promises'
import { newId } from '../../kernel/base/id.ts'
import { type Call, oneOf, type Place, type Reply, ruleOf, type Server } from './place.ts'

/** Of a change: made, refused, or nobody knows. */
export type Outcome = Reply & { readonly tries: number; readonly servers: readonly string[] }

/** True if the change is in the store: 504 is made, and waits for its agent. */
export const isMade = ({ status }: Pick<Reply, 'status'>): boolean =>
  (status >= 200 && status < 300) || status === 504

/** Whether the same call may be made again, with its key. */
const isOpen = ({ status, body }: Reply): boolean =>
  status === 0 ||
  status === 502 ||
  status === 503 ||
  (status === 409 && codeOf(body) === 'idempotency_in_progress')

export const codeOf = (body: Reply['body']): string =>
  String((body['error'] as { readonly code?: unknown } | undefined)?.code ?? '')

/** Makes a call with a key at any server, again at others until it is decided. */
export async function decide(
  servers: readonly Server[],
  call: Call,
  { withinMs = 120_000, restMs = 100 } = {}
): Promise<Outcome> {
  const keyed = { key: newId(Date.now()), ...call }
  const asked: string[] = []
  const began = performance.now()
  for (let tries = 1; ; tries++) {
    const server = oneOf(servers)
    asked.push(server.id)
    const reply = await server.call(keyed)
    if (!isOpen(reply) || performance.now() - began > withinMs) return { ...reply, tries, servers: asked }
    await pause(Math.random() * restMs)
  }
}

export interface MadeRule {
  readonly ruleId: string
  readonly clientId: string
}

const lowestPort = 20_000

/** Makes rules at random servers for random agents until it is ended. */
export function makeRules(
  { servers }: Pick<Place, 'servers'>,
  clientIds: readonly string[],
  { callers = 4, restMs = 20 } = {}
) {
  const made: MadeRule[] = []
  const waits: number[] = []
  const refused = new Map<string, number>()
  let isEnding = false
  let ports = 0

  async function one(): Promise<void> {
    while (!isEnding) {
      const clientId = oneOf(clientIds)
      const began = performance.now()
      const body = ruleOf(clientId, lowestPort + (ports++ % 40_000))
      const reply = await decide(servers, { method: 'POST', path: '/v1/rules', body })
      waits.push(performance.now() - began)
      const ruleId = ruleIdOf(reply)
      if (ruleId !== null) made.push({ ruleId, clientId })
      else refused.set(whyOf(reply), (refused.get(whyOf(reply)) ?? 0) + 1)
      await pause(restMs)
    }
  }
  const running = Array.from({ length: callers }, one)
  return {
    made,
    waits,
    refused,
    async end(): Promise<void> {
      isEnding = true
      await Promise.all(running)
    }
  }
}

/** Of a rule that was made; an error of a change that waits for its agent names it, too. */
export function ruleIdOf(reply: Reply): string | null {
  const { body } = reply
  const error = body['error'] as { readonly details?: { readonly rule_id?: unknown } } | undefined
  const ruleId = body['rule_id'] ?? error?.details?.rule_id
  return isMade(reply) && typeof ruleId === 'string' ? ruleId : null
}

const whyOf = ({ status, body }: Reply): string => `${status} ${codeOf(body)}`.trim()
