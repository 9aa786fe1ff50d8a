import { definePlugin, type Kernel, type rules } from 'sluice/plugin'
import { relayNotice } from './relay-notice.ts'
import { reserved, targetLabel } from './target-label.ts'

interface Deps extends Kernel {
  readonly rules: rules.Rules
}

export default definePlugin<Deps>({
  name: 'relay-label',
  version: '1.0.0',
  kernel: '^2.0.0',
  needs: { rules: '^1.0.0' },
  codes: [reserved],
  fills: [targetLabel, ...relayNotice]
})
