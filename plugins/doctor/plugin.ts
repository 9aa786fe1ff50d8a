import { definePlugin } from '../../kernel/plugin.ts'
import { agents, certificate, endpoint } from './agent-checks.ts'
import { clock, descriptors, directory, ports } from './checks.ts'
import { commands, doctorFailed } from './commands.ts'
import { engine } from './engine.ts'
import { checkSlot } from './exports.ts'

const checks = [directory, clock, ports, certificate, endpoint, agents, descriptors, engine]

export default definePlugin({
  name: 'doctor',
  version: '1.0.0',
  kernel: '^2.0.0',
  needs: { 'advertised-endpoint': '^1.0.0', cli: '^1.0.0', control: '^1.0.0' },
  codes: [doctorFailed],
  slots: [checkSlot],
  fills: checks.map(check => checkSlot.fill(check)),
  commands
})
