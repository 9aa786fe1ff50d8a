import { createHash } from 'node:crypto'
import { type Static, Type } from 'typebox'
import { type Capability, Count, defineMessage } from '../../kernel/wire/message.ts'

const proto = new URL('./multi-target.proto', import.meta.url)

export const targetsCapability: Capability = { id: 'rule.multi-target', since: '0.7.0' }

export const maxRulesOfMessage = 250 // with 8 targets each they fit into a frame of 256 KiB

const Time = Type.Integer({ minimum: 0, maximum: 8.64e15 }) // the range of a Date
const State = Type.Union([Type.Literal('healthy'), Type.Literal('failed'), Type.Literal('unknown')])
const Source = Type.Union([Type.Literal('traffic'), Type.Literal('probe')])

export const Health = defineMessage({
  name: 'sluice.multi_target.Health',
  proto,
  body: Type.Object({
    rules: Type.Array(
      Type.Object({
        rule_id: Type.String({ maxLength: 26 }),
        targets_mark: Type.Optional(Type.Integer({ minimum: 0, maximum: 2 ** 32 - 1 })),
        targets: Type.Array(
          Type.Object({
            state: State,
            consecutive_failures: Count,
            last_failure_ms: Type.Optional(Time),
            last_success_ms: Type.Optional(Time),
            ejected_until_ms: Type.Optional(Time),
            ejected_reason: Type.Optional(Type.String({ maxLength: 32 })),
            ejections: Type.Optional(Count),
            reason: Type.Optional(Type.String({ maxLength: 32 })),
            source: Type.Optional(Source)
          }),
          { maxItems: 8 } // targets of a rule
        )
      }),
      { maxItems: maxRulesOfMessage }
    )
  })
})
export type RuleHealth = Static<typeof Health.body>['rules'][number]

interface Place {
  readonly host: string
  readonly port: number
}

export const targetKey = ({ host, port }: Place): string => `${host} ${port}`

/** Identifies the targets of a report, which can be former targets of the rule. */
export const targetsMark = (targets: readonly Place[]): number =>
  createHash('sha256')
    .update(targets.map(target => `${targetKey(target)}\n`).join(''))
    .digest()
    .readUInt32BE()

export const messages = [Health]
