import { asFunction } from 'awilix'
import { defineCode, Fault } from '../../kernel/base/errors.ts'
import { connectionSlot } from '../../kernel/control/peers.ts'
import { metricsSlot } from '../../kernel/metrics.ts'
import { definePlugin, type Kernel, type PeerCall } from '../../kernel/plugin.ts'
import { on } from '../../kernel/wire/message.ts'
import { noticeKind } from '../http/exports.ts'
import { type Rules, removedSlot, ruleField, shapeSlot, targetViewSlot } from '../rules/exports.ts'
import { fills as commandFills } from './commands.ts'
import { explains } from './explain.ts'
import { field, healthOnUdp } from './field.ts'
import { type Healths, openHealths } from './health.ts'
import { openMetrics } from './metrics.ts'
import { openTargetNotice, type TargetNotice } from './notice.ts'
import { Health, messages, targetsCapability } from './wire.ts'

const unsupported = defineCode('multi_target_unsupported_by_client', 422, 3)

interface Deps extends Kernel {
  readonly healths: Healths
  readonly targetNotice: TargetNotice
  readonly rules: Rules
}

const healthCheck = ruleField({
  ...field,
  change: 'frozen',
  journalKind: 'target',
  errors: [healthOnUdp],
  parse(secs, { protocol }) {
    if (protocol === 'tcp') return secs
    throw new Fault(healthOnUdp, `/${field.key} is for TCP rules: a UDP target cannot be probed`, {
      details: { field: `/${field.key}`, reason: 'protocol' }
    })
  }
})

export default definePlugin<Deps>({
  name: 'multi-target',
  version: '1.0.0',
  kernel: '^2.0.0',
  needs: { http: '^1.0.0', rules: '^1.0.0' },
  codes: [unsupported, healthOnUdp],
  services: {
    healths: asFunction(openHealths).singleton(),
    targetNotice: asFunction(openTargetNotice).singleton()
  },
  fills: [
    shapeSlot.fill({ shape: 'targets', requires: { capability: targetsCapability, refusal: unsupported } }),
    healthCheck,
    explains,
    targetViewSlot.fillWith(({ healths }: Deps) => healths.view),
    connectionSlot.fillWith(({ healths }: Deps) => healths.connection),
    removedSlot.fillWith(({ healths, targetNotice }: Deps) => async (rule, em) => {
      healths.forget(rule)
      await targetNotice.forget(rule, em)
    }),
    noticeKind('targets_failed', ({ targetNotice }: Deps) => targetNotice.source),
    metricsSlot.fillWith(openMetrics),
    ...commandFills
  ],
  messages,
  handlers: [
    on(Health, async ({ peer, deps }: PeerCall<Deps>, { rules }) => deps.healths.receive(peer, rules))
  ]
})
