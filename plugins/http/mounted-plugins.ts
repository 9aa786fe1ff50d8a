import type { Kernel, Plugin } from '../../kernel/plugin.ts'

/** A plugin that the server runs, with its settings in force. */
export interface Mounted {
  readonly plugin: Plugin
  readonly config: Kernel['config']
}

/** The plugins of this server, in the order of their starts. The host adds each as it mounts it. */
export interface MountedPlugins {
  add(one: Mounted): void
  all(): readonly Mounted[]
}

export function openMountedPlugins(): MountedPlugins {
  const mounted: Mounted[] = []
  return { add: one => void mounted.push(one), all: () => mounted }
}
