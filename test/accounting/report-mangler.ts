// Splits reports on their way to the server, and repeats committed ones, in random order.
import type { Static } from 'typebox'
import { messages, StatsReport } from '../../agent/wire/journal-report.ts'
import { openCodec } from '../../kernel/wire/codec.ts'
import { controlMessages } from '../../kernel/wire/control.ts'
import { type Envelope, wireMessages } from '../../kernel/wire/envelope.ts'
import type { SeededRandom } from '../bench/soak/seeded-random.ts'
import { randomElement, shuffle } from './random-choice.ts'

export type Message = Static<(typeof Envelope)['body']>

export interface ReportMangler {
  /** Splits the report and adds committed ones, in random order. The message itself stays last. */
  splitAndRepeat(message: Message, token: string): Message[]
  addCommitted(token: string, report: Uint8Array): void
  forgetCommitted(): void
}

const firstId = 2 ** 30 // ids of the proxy's requests; agents use lower ids
const maxCommitted = 50 // per agent

export const codec = openCodec([...wireMessages, ...controlMessages, ...messages])

/** Returns whether this is the response to a request of the proxy. */
export const isOwnResponse = (re: number): boolean => re > firstId

export function openReportMangler(dice: SeededRandom): ReportMangler {
  const committed = new Map<string, Uint8Array[]>() // by the agent's token
  let lastId = firstId

  const newRequest = (body: Uint8Array): Message => ({
    name: StatsReport.name,
    body,
    id: ++lastId,
    re: 0,
    request: ''
  })

  /** Splits a report into several, with its rows in random order. Only the last one has the seq. */
  function split(message: Message): Message[] {
    const report = codec.decode(StatsReport, message.body)
    const rows = shuffle(report.rows, dice)
    const parts = Array.from({ length: dice.below(4) }, () => rows.splice(0, dice.below(rows.length + 1)))
    const part = { ...report, seq: 0, last: false, live: [] }
    const before = parts.map(rows => newRequest(codec.encode(StatsReport, { ...part, rows })))
    return [...before, { ...message, body: codec.encode(StatsReport, { ...report, rows }) }]
  }

  /** Adds some committed reports. The last message stays last. */
  function withRepeats(parts: readonly Message[], token: string): Message[] {
    const known = committed.get(token) ?? []
    const repeats = Array.from({ length: known.length > 0 ? dice.below(3) : 0 }, () =>
      newRequest(randomElement(known, dice))
    )
    return [...shuffle([...parts.slice(0, -1), ...repeats], dice), ...parts.slice(-1)]
  }

  return {
    splitAndRepeat: (message, token) => withRepeats(split(message), token),
    addCommitted(token, report) {
      committed.set(token, [...(committed.get(token) ?? []), report].slice(-maxCommitted))
    },
    forgetCommitted: () => committed.clear()
  }
}
