// Tells the service manager of the host that the server serves, reloads or stops, and that its event loop runs.
import { reasonOf } from '../../kernel/base/errors.ts'
import type { Release } from '../../kernel/base/releases.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { ServerLife } from '../cli/exports.ts'
import type { Rules } from '../rules/exports.ts'
import type { Notifier } from './notify/notifier.ts'
import { ownSupervisor } from './notify/supervisor.ts'

const statusMs = 15_000

interface Deps extends Pick<Kernel, 'control' | 'store' | 'clock' | 'log'> {
  readonly rules: Pick<Rules, 'countActive'>
}

export interface ServerNotifications {
  readonly life: ServerLife
  /** Without a supervisor, loads and starts nothing. */
  start(defer: (release: Release) => void, stopping: AbortSignal): Promise<void>
}

export function openServerNotifications({ control, store, rules, clock, log }: Deps): ServerNotifications {
  let notifier: Notifier | null = null

  async function showStatus(): Promise<void> {
    const agents = control.peers.all().filter(({ isElsewhere }) => !isElsewhere).length
    const active = await store
      .read(em => rules.countActive(em))
      .then(
        count => `${count} rules active`,
        error => `the store does not answer: ${reasonOf(error)}`
      )
    notifier?.status(`${agents} agents connected; ${active}`)
  }

  return {
    life: {
      ready() {
        notifier?.ready()
        if (notifier) void showStatus()
      },
      reloading: () => notifier?.reloading()
    },
    async start(defer, stopping) {
      const supervisor = ownSupervisor()
      if (supervisor === null) return
      const { notifierOf } = await import('./notify/notifier-of.ts')
      const opened = notifierOf(supervisor, { clock, log })
      notifier = opened
      defer(() => {
        notifier = null
        opened.close()
      })
      defer(clock.every(statusMs, showStatus))
      stopping.addEventListener('abort', opened.stopping, { once: true })
    }
  }
}
