import { Type } from 'typebox'
import { defineCode, Fault } from '../../kernel/base/errors.ts'
import { fieldUnsupported, ruleField } from '../rules/exports.ts'
import { HealthInterval } from './entities.ts'
import { HealthCheck, healthCheckCapability, healthCheckKey } from './wire.ts'

export const healthOnUdp = defineCode('validation.health_on_udp', 400, 3)

/** The interval at which the agent connects to each target. */
export const field = ruleField({
  key: healthCheckKey,
  change: 'frozen',
  journalKind: 'target',
  body: Type.Integer({
    minimum: 1,
    maximum: 3600,
    description: 'Seconds between connection attempts to each target.',
    examples: [30]
  }),
  requires: { capability: healthCheckCapability, refusal: fieldUnsupported },
  message: HealthCheck,
  errors: [healthOnUdp],
  parse(secs, { protocol }) {
    if (protocol === 'tcp') return secs
    const details = { field: `/${healthCheckKey}`, reason: 'protocol' }
    throw new Fault(healthOnUdp, `/${healthCheckKey} is for TCP rules: a UDP target cannot be probed`, {
      details
    })
  },
  async check() {},
  async save(rule, secs, em) {
    await em.insert(HealthInterval, { rule, secs })
  },
  async clear(rule, em) {
    await em.nativeDelete(HealthInterval, { rule })
  },
  async load(ids, em) {
    const rows = await em.find(HealthInterval, { rule: { $in: [...ids] } })
    return new Map(rows.map(({ rule, secs }) => [rule, secs]))
  },
  encode: interval_secs => ({ interval_secs })
})
