import type { AgentPlugin } from '../../agent/plugin.ts'
import { giveBackWhenIdle } from './memory.ts'

export default {
  name: 'memory',
  agent: '^1.0.0',
  async start({ call: { log }, defer }) {
    giveBackWhenIdle({ log, defer })
  }
} satisfies AgentPlugin
