import { asValue, createContainer, InjectionMode, type Resolver } from 'awilix'
import { runAs } from './base/attribution.ts'
import { Fault, reasonOf, startupInvalid } from './base/errors.ts'
import type { Kernel, Plugin } from './plugin.ts'

type Registrations = Readonly<Record<string, Resolver<unknown>>>

/**
 * Opens a container per plugin: the kernel's services, exports of the plugins it needs, and its own services. They are not
 * child containers, which see all of their parent. All services are created now, so that a missing one stops the boot.
 */
export function openContainers(
  plugins: readonly Plugin[],
  kernelFor: (plugin: Plugin) => Kernel
): (plugin: string) => Kernel {
  const exported = new Map<string, Registrations>()
  const cradles = new Map<string, Kernel>()

  for (const plugin of plugins) {
    const container = createContainer<Kernel>({ injectionMode: InjectionMode.PROXY, strict: true })
    const add = (from: string, entries: Registrations): void => {
      for (const [key, resolver] of Object.entries(entries)) {
        if (container.hasRegistration(key)) refuse(plugin, `${key} of ${from} hides another ${key}`)
        container.register(key, resolver)
      }
    }
    const resolve = (key: string): unknown => {
      try {
        return runAs(plugin.name, () => container.resolve(key))
      } catch (error) {
        return refuse(plugin, `cannot make ${key}: ${reasonOf(error)}`, error)
      }
    }

    add('the kernel', values(kernelFor(plugin)))
    for (const need of Object.keys(plugin.needs ?? {})) add(need, exported.get(need) ?? {})
    add(plugin.name, { ...plugin.services, ...plugin.exports })
    Object.keys(plugin.services ?? {}).forEach(resolve)
    exported.set(
      plugin.name,
      values(Object.fromEntries(Object.keys(plugin.exports ?? {}).map(key => [key, resolve(key)])))
    )
    cradles.set(plugin.name, container.cradle)
  }
  return name => {
    const cradle = cradles.get(name)
    if (!cradle) throw new TypeError(`${name} is not loaded`)
    return cradle
  }
}

const values = (entries: object): Registrations =>
  Object.fromEntries(Object.entries(entries).map(([key, value]) => [key, asValue<unknown>(value)]))

function refuse({ name }: Plugin, problem: string, cause?: unknown): never {
  throw new Fault(startupInvalid, `plugin ${name}: ${problem}`, { cause })
}
