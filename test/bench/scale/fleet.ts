// Agents in a process of their own. They come at once, again when they are refused, and take what they get.
import { setTimeout } from 'node:timers/promises'
import { connectAgent, scriptedResponse } from '../../../kit/scripted-agent.ts'
import { messages, RulePush, RuleRemove } from '../../../plugins/rules/wire.ts'
import { addressOf } from './address.ts'

export interface Fleet {
  readonly port: number
  readonly fingerprint: string
  readonly tokens: readonly string[]
}

export interface Joined {
  readonly ms: number // until all are let in
  readonly refused: number // handshakes
  readonly cpuMs: number // of this process
}

const { tokens, ...endpoint } = JSON.parse(process.argv[2] ?? '') as Fleet
const firstDelayMs = 500
const maxDelayMs = 30_000

let refused = 0
const t = { teardown() {} } // the process ends

async function join(token: string, at: number): Promise<void> {
  const script = {
    ...endpoint,
    token,
    localAddress: addressOf(at),
    messages,
    responses: [
      scriptedResponse(RulePush, ({ rule_id, revision }) => ({ rule_id, revision })),
      scriptedResponse(RuleRemove, ({ rule_id, revision }) => ({ rule_id, revision }))
    ]
  }
  for (let failures = 0; ; failures++)
    try {
      await connectAgent(t, script)
      return
    } catch {
      refused++
      await setTimeout(Math.random() * Math.min(maxDelayMs, firstDelayMs * 2 ** failures))
    }
}

const began = performance.now()
await Promise.all(tokens.map(join))
const { user, system } = process.cpuUsage()
process.stdout.write(
  `${JSON.stringify({ ms: performance.now() - began, refused, cpuMs: (user + system) / 1000 } satisfies Joined)}\n`
)
