import { defineCode } from '../../kernel/base/errors.ts'
import { connectionSlot } from '../../kernel/control/peers.ts'
import { definePlugin, type Kernel } from '../../kernel/plugin.ts'
import { shapeSlot } from '../rules/exports.ts'
import { keys } from './settings.ts'
import { capability, Settings, settingsPart } from './wire.ts'

const unsupportedProtocol = defineCode('unsupported_protocol', 422, 3)

type Deps = Kernel<typeof keys>

export default definePlugin<Deps>({
  name: 'udp',
  version: '1.0.0',
  kernel: '^2.0.0',
  needs: { rules: '^1.0.0' },
  keys,
  codes: [unsupportedProtocol],
  fills: [
    shapeSlot.fill({ shape: 'udp', requires: { capability, refusal: unsupportedProtocol } }),
    connectionSlot.fillWith(({ codec, config }: Deps) => ({
      async welcome() {
        const { udp_max_flows_per_rule: max_flows_per_rule, udp_flow_idle_secs: flow_idle_secs } = config
        return { [settingsPart]: codec.encode(Settings, { max_flows_per_rule, flow_idle_secs }) }
      }
    }))
  ],
  messages: [Settings]
})
