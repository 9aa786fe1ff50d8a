// Tells the service manager of the host that the agent is up, reloads or stops, and that its event loop runs.
import type { AgentCall, AgentPlugin } from '../../agent/plugin.ts'
import type { Notifier } from './notify/notifier.ts'
import { ownSupervisor } from './notify/supervisor.ts'

const statusMs = 15_000

interface Told {
  readonly notifier: Notifier
  server: string | null // null: not connected
}

/** Empty without a supervisor. */
const told = new WeakMap<AgentCall, Told>()

function showStatus({ rules, objects }: AgentCall, { notifier, server }: Told): void {
  const link = server === null ? 'not connected to a server' : `connected to ${server}`
  const failed = objects.notInForce().length
  const open = rules.runningCount() - rules.closed().size
  notifier.status(`${link}; ${open} rules open${failed === 0 ? '' : `, ${failed} not in force`}`)
}

export default {
  name: 'service',
  agent: '^1.0.0',
  async start({ call, defer }) {
    const supervisor = ownSupervisor()
    if (supervisor === null) return
    const { notifierOf } = await import('./notify/notifier-of.ts')
    const state: Told = { notifier: notifierOf(supervisor, call), server: null }
    told.set(call, state)
    defer(() => void told.delete(call))
    defer(state.notifier.close)
    defer(call.clock.every(statusMs, () => showStatus(call, state)))
  },
  lifecycle(phase, call) {
    const state = told.get(call)
    if (!state) return
    if (phase === 'up') {
      showStatus(call, state)
      state.notifier.ready()
    } else if (phase === 'reloading') state.notifier.reloading()
    else state.notifier.stopping()
  },
  connected({ endpoint, signal }, call) {
    const state = told.get(call)
    if (!state) return
    state.server = endpoint
    showStatus(call, state)
    const onEnd = (): void => {
      if (told.get(call) !== state) return // a reload has ended this half
      state.server = null
      showStatus(call, state)
    }
    signal.addEventListener('abort', onEnd, { once: true })
  }
} satisfies AgentPlugin
