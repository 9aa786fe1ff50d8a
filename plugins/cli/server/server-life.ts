import type { Server } from '../../../kernel/kernel.ts'
import type { Plugin } from '../../../kernel/plugin.ts'
import { defineSlot } from '../../../kernel/slot.ts'

/** Follows a server that runs as a command. The functions must not throw. */
export interface ServerLife {
  /** The server listens: after its start, and after each reload, also a refused one. */
  ready(): void
  reloading(): void
}

export const serverLifeSlot = defineSlot<ServerLife>('cli.server-life')

/** Returns all values of the slot as one. */
export function serverLife(
  { depsOf }: Pick<Server, 'depsOf'>,
  plugins: readonly Pick<Plugin, 'name'>[]
): ServerLife {
  const isCli = plugins.some(({ name }) => name === 'cli') // it can be disabled
  const lives = isCli ? depsOf('cli').filled(serverLifeSlot) : []
  return {
    ready() {
      for (const { value } of lives) value.ready()
    },
    reloading() {
      for (const { value } of lives) value.reloading()
    }
  }
}
