import { definePlugin, type Kernel } from '../../kernel/plugin.ts'
import { shapeSlot } from '../rules/exports.ts'
import { explains } from './explain.ts'
import { keys } from './settings.ts'
import { rangeInvalid, rangeTooWide, shape } from './shape.ts'

type Deps = Kernel<typeof keys>

export default definePlugin<Deps>({
  name: 'port-range',
  version: '1.0.0',
  kernel: '^2.0.0',
  needs: { rules: '^1.0.0' },
  keys,
  codes: [rangeInvalid, rangeTooWide],
  fills: [shapeSlot.fillWith(({ config }: Deps) => shape(config)), explains]
})
