import type { Kernel, Plugin } from '../../kernel/plugin.ts'

/** A running plugin and its settings. */
export interface Mounted {
  readonly plugin: Plugin
  readonly config: Kernel['config']
}

/** The plugins of this server in start order. The host adds each one when it mounts it. */
export interface MountedPlugins {
  add(one: Mounted): void
  all(): readonly Mounted[]
}

export function openMountedPlugins(): MountedPlugins {
  const mounted: Mounted[] = []
  return { add: one => void mounted.push(one), all: () => mounted }
}
