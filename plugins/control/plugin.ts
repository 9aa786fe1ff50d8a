import { controlSlot } from '../../kernel/control/control.ts'
import { definePlugin } from '../../kernel/plugin.ts'
import { openControl } from './control.ts'
import { keys } from './settings.ts'
import { sweepTokens } from './tokens.ts'

export default definePlugin({
  name: 'control',
  version: '1.0.0',
  kernel: '^1.0.0',
  keys,
  fills: [controlSlot.fill(openControl)],
  async start({ deps, defer }) {
    defer(await sweepTokens(deps))
  }
})
