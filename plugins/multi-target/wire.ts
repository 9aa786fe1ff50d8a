import { type Static, Type } from 'typebox'
import { type Capability, defineMessage } from '../../kernel/wire/message.ts'

const proto = new URL('./multi-target.proto', import.meta.url)

export const targetsCapability: Capability = { id: 'rule.multi-target', since: '0.7.0' }
export const healthCheckCapability: Capability = { id: 'rule.health-check', since: '2.0.0' }

export const healthCheckKey = 'health_check_interval_secs'

export const HealthCheck = defineMessage({
  name: 'sluice.multi_target.HealthCheck',
  proto,
  body: Type.Object({ interval_secs: Type.Integer() })
})

const State = Type.Union([Type.Literal('healthy'), Type.Literal('failed'), Type.Literal('unknown')])

export const Health = defineMessage({
  name: 'sluice.multi_target.Health',
  proto,
  body: Type.Object({
    rules: Type.Array(
      Type.Object({
        rule_id: Type.String(),
        targets: Type.Array(
          Type.Object({
            state: State,
            consecutive_failures: Type.Integer(),
            last_failure_ms: Type.Optional(Type.Integer()),
            last_success_ms: Type.Optional(Type.Integer())
          })
        )
      })
    )
  })
})
export type RuleHealth = Static<typeof Health.body>['rules'][number]

export const messages = [HealthCheck, Health]
