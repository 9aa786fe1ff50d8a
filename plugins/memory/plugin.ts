import { definePlugin } from '../../kernel/plugin.ts'
import { giveBackWhenIdle } from './memory.ts'

export default definePlugin({
  name: 'memory',
  version: '1.0.0',
  kernel: '^2.0.0',
  async start({ deps: { log }, defer }) {
    giveBackWhenIdle({ log, defer })
  }
})
