import { asFunction, asValue, createContainer } from 'awilix'
import { type TObject, Type } from 'typebox'
import { systemClock } from '../../../kernel/base/clock.ts'
import { validateConfig } from '../../../kernel/base/config.ts'
import type { Control } from '../../../kernel/control/control.ts'
import { openIdentity } from '../../../kernel/identity/identity.ts'
import { metricsSlot } from '../../../kernel/metrics.ts'
import type { Kernel, Plugin } from '../../../kernel/plugin.ts'
import { type SlotReader, slotReader } from '../../../kernel/slot.ts'
import type { Database } from '../../../kernel/store/open.ts'
import { openCodec } from '../../../kernel/wire/codec.ts'
import { wireMessages } from '../../../kernel/wire/envelope.ts'

/** Opens the services of plugins that are not started. Creates a service only when a slot value needs it. */
export function openServices(plugins: readonly Plugin[], store: Database) {
  const cradles = new Map<string, Kernel>()
  const codec = openCodec([...wireMessages, ...plugins.flatMap(({ messages }) => messages ?? [])])
  const filledFor = (owner: string, by = plugins): SlotReader => slotReader(owner, by, depsOf)

  const kernelOf = (name: string): Kernel => ({
    log: silent,
    clock: systemClock,
    identity: openIdentity({ store, clock: systemClock, operatorToken: null }),
    control,
    codec,
    dataDir: '',
    document: () => ({}),
    metrics: () => filledFor('kernel')(metricsSlot),
    config: defaultConfig(plugins.find(plugin => plugin.name === name)),
    store,
    filled: filledFor(name)
  })

  function depsOf(name: string): Kernel {
    const known = cradles.get(name)
    if (known) return known
    const { needs, services, exports } = plugins.find(plugin => plugin.name === name) ?? {}
    const container = createContainer<Kernel>()
    for (const [key, value] of Object.entries(kernelOf(name))) container.register(key, asValue(value))
    for (const need of Object.keys(needs ?? {}))
      for (const key of Object.keys(plugins.find(plugin => plugin.name === need)?.exports ?? {}))
        container.register(key, asFunction(() => depsOf(need)[key as keyof Kernel]).singleton())
    container.register({ ...services, ...exports })
    cradles.set(name, container.cradle)
    return container.cradle
  }

  return { filledFor, kernelOf }
}

const notRunning = async (): Promise<never> => {
  throw new Error('there is no running server')
}

/** A control service without agents. */
const control: Control = {
  peers: { find: () => undefined, all: () => [] },
  servers: {
    id: '',
    isAlone: () => true,
    list: async () => [],
    onOne: notRunning,
    mirror: () => () => {},
    inForce: notRunning
  },
  objects: {
    put: notRunning,
    drop: notRunning,
    forget: notRunning,
    wake() {},
    deliver: notRunning,
    deliverAll: notRunning,
    refuse() {}
  },
  fingerprint: '',
  certificate: '',
  serve() {},
  configuredEndpoint: null,
  port: () => 0,
  metrics: notRunning
}

const silent = { debug() {}, info() {}, warn() {}, error() {} }

function defaultConfig(plugin: Plugin | undefined): Kernel['config'] {
  const part = (schema: TObject = Type.Object({})) => validateConfig(schema, {}, '').value
  return { ...part(plugin?.config), ...part(plugin?.keys) }
}
