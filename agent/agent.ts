// The story of an agent: what was saved is in force again, then a link keeps it in step with the server.
import { timestamp } from '../kernel/base/clock.ts'
import { Releases } from '../kernel/base/releases.ts'
import { type AgentOptions, type Components, openComponents, openHello } from './components.ts'
import { type Bundle, markRevoked } from './link/bundle.ts'
import { type LinkOptions, runLink } from './link/link.ts'
import { aborted } from './link/wait.ts'
import { guardPlugin } from './plugins/guard.ts'

export interface Signals {
  readonly stop: AbortSignal
  /** Nothing is waited for any more. */
  readonly cut: AbortSignal
}

/** 'revoked': the server has taken the right to forward away. */
export type Outcome = 'stopped' | 'revoked'

const countMs = 1000
const lastReportMs = 3000

export async function runAgent(given: AgentOptions, { stop, cut }: Signals): Promise<Outcome> {
  const options = { ...given, plugins: given.plugins.map(plugin => guardPlugin(plugin, given.log)) }
  const releases = new Releases()
  const unlink = new AbortController()
  try {
    const parts = openComponents(options, releases.defer)
    for (const plugin of options.plugins) await plugin.start?.({ call: parts.call, defer: releases.defer })
    await parts.objects.restore()
    releases.defer(options.clock.every(countMs, parts.takeSample))

    const linked = runLink(linkOptions(options, parts), unlink.signal)
    const refused = await Promise.race([linked, aborted(stop)])
    if (refused) await giveUp(options, parts, refused)
    else await windDown(options, parts, cut)
    unlink.abort()
    await linked
    return refused ? 'revoked' : 'stopped'
  } finally {
    unlink.abort()
    await releases.run()
  }
}

function linkOptions(
  options: AgentOptions,
  { codec, objects, journal, handlers, call }: Components
): LinkOptions {
  const { plugins, bundleFile, clock, log, random } = options
  const hello = openHello(plugins, options.version)
  let askedMs = 0
  return {
    bundleFile,
    codec,
    handlers,
    hello() {
      askedMs = clock.now()
      return hello(objects.digest())
    },
    async welcomed({ generation, kinds, server_time_ms: serverTimeMs }) {
      journal.setServerTime(serverTimeMs, askedMs)
      await objects.welcome(generation, kinds)
    },
    joined(line, { parts }, signal) {
      objects.attach(line)
      for (const plugin of plugins)
        plugin.connected?.({ ...line, welcomePart: key => parts[key], signal }, call)
    },
    left: objects.detach,
    clock,
    log,
    ...(random && { random })
  }
}

/** Listeners close, connections have their drain, the server hears the last counts. The journal keeps what it misses. */
async function windDown(
  { plugins, clock, log }: AgentOptions,
  parts: Components,
  cut: AbortSignal
): Promise<void> {
  const { objects, rules, takeSample, call } = parts
  log.info('agent.stopping', 'listeners close, connections may end')
  objects.close()
  await Promise.race([rules.closeAll('drain'), aborted(cut)])
  if (cut.aborted) return
  takeSample()
  const late = Promise.withResolvers<void>()
  const cancel = clock.after(lastReportMs, late.resolve)
  const reported = Promise.allSettled(plugins.map(plugin => plugin.stopping?.(call)))
  await Promise.race([reported, late.promise, aborted(cut)])
  cancel()
}

/** The journal stays: a later enrollment still reports it. */
async function giveUp(
  { bundleFile, clock, log }: AgentOptions,
  parts: Components,
  refused: Bundle
): Promise<void> {
  log.error('auth.failure', 'the server has revoked this agent; sluice agent enroll lets it in again', {
    reason: 'token_revoked'
  })
  await parts.objects.clear()
  await parts.rules.closeAll('cut')
  markRevoked(bundleFile, refused.token, timestamp(clock.now()))
}
