// The life of an agent: saved objects are applied first, then the link keeps the agent in step with the server.
import { timestamp } from '../kernel/base/clock.ts'
import { Releases } from '../kernel/base/releases.ts'
import { type AgentOptions, type Components, openComponents } from './components.ts'
import { type Bundle, markRevoked } from './link/bundle.ts'
import { openHello } from './link/hello.ts'
import { Link, type LinkOptions } from './link/link.ts'
import { aborted } from './link/wait.ts'
import { guardPlugin } from './plugins/guard.ts'

export interface Signals {
  /** Stops the agent in order: connections drain, the last counts are reported. */
  readonly stop: AbortSignal
  /** Ends an orderly stop at once. */
  readonly cut: AbortSignal
}

/** 'revoked': the server has revoked the agent's token, and all rules are closed. */
export type Outcome = 'stopped' | 'revoked'

const sampleMs = 1000
const lastReportMs = 3000

/** Runs an agent until it is stopped or revoked. Rejects when a component or a plugin cannot be started. */
export async function runAgent(given: AgentOptions, { stop, cut }: Signals): Promise<Outcome> {
  const { configs = {}, log } = given
  const plugins = given.plugins.map(plugin => guardPlugin(plugin, log, configs[plugin.name] ?? {}))
  const options = { ...given, plugins }
  const releases = new Releases()
  const stopLink = new AbortController()
  try {
    const components = openComponents(options, releases.defer)
    const { call, objects } = components
    const metrics = plugins.flatMap(({ name: by, metrics }) =>
      metrics ? [{ by, value: async () => metrics(call) }] : []
    )
    for (const plugin of plugins) await plugin.start?.({ call, defer: releases.defer, metrics })
    await objects.restore()
    releases.defer(options.clock.every(sampleMs, call.takeSample))

    const link = new Link(linkOptions(options, components), stopLink.signal).run()
    const revoked = await Promise.race([link, aborted(stop)])
    if (revoked) await closeRevoked(options, components, revoked)
    else await stopInOrder(options, components, cut)
    stopLink.abort()
    await link
    return revoked ? 'revoked' : 'stopped'
  } finally {
    stopLink.abort()
    await releases.run()
  }
}

function linkOptions(options: AgentOptions, components: Components): LinkOptions {
  const { plugins, version, bundleFile, clock, log, random } = options
  const { codec, objects, journal, handlers, call } = components
  const hello = openHello(plugins, version)
  let helloAtMs = 0
  return {
    bundleFile,
    codec,
    handlers,
    hello() {
      helloAtMs = clock.monotonic()
      return hello(objects.digest())
    },
    async welcomed({ generation, kinds, server_time_ms: serverTimeMs }) {
      journal.setServerTime(serverTimeMs, helloAtMs)
      await objects.welcome(generation, kinds)
    },
    connected(channel, { parts }, signal) {
      objects.attach(channel)
      const stream = { ...channel, welcomePart: (key: string) => parts[key], signal }
      for (const plugin of plugins) plugin.connected?.(stream, call)
    },
    disconnected: () => objects.detach(),
    clock,
    log,
    ...(random && { random })
  }
}

/** Closes listeners, lets connections drain, and reports the last counts. The journal keeps what is not reported. */
async function stopInOrder(
  { plugins, clock, log }: AgentOptions,
  { objects, rules, call }: Components,
  cut: AbortSignal
): Promise<void> {
  log.info('agent.stopping', 'listeners close, connections drain')
  objects.close()
  await Promise.race([rules.closeAll('drain'), aborted(cut)])
  if (cut.aborted) return
  call.takeSample()
  const late = Promise.withResolvers<void>()
  const cancel = clock.after(lastReportMs, late.resolve)
  const reported = Promise.allSettled(plugins.map(plugin => plugin.stopping?.(call)))
  await Promise.race([reported, late.promise, aborted(cut)])
  cancel()
}

/** Cuts all rules and marks the bundle. The journal stays: after a new enrollment it is still reported. */
async function closeRevoked(
  { bundleFile, clock, log }: AgentOptions,
  { objects, rules }: Components,
  { token }: Bundle
): Promise<void> {
  log.error('auth.failure', 'the server has revoked this agent; to admit it again run sluice agent enroll', {
    reason: 'token_revoked'
  })
  await objects.clear()
  await rules.closeAll('cut')
  markRevoked(bundleFile, token, timestamp(clock.now()))
}
