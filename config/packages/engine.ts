// Builds the native engine for each machine with one cross compiler, and links its C++ library statically.
import { cpSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { zig } from './downloads.ts'
import { root, run } from './run.ts'
import type { Target } from './targets.ts'

/** Compiles the engine to native/prebuilds. Unchanged sources are not compiled again. */
export function buildEngine({ name, triple, libc }: Target): void {
  const out = `build/${name}`
  const link = '-Wl,-z,relro,-z,now -s'
  const flags = libc === 'musl' ? '-Wno-sign-compare' : '' // musl's CMSG_NXTHDR compares different signs
  const variables = [
    `OUT=${out}`,
    `CXX=${zig()} c++ -target ${triple}`,
    'STRIP=true',
    `LINK_Release=${link}`,
    `CXXFLAGS=${flags}`
  ]
  run('make', ['-C', 'native', '-s', '-j2', 'all', ...variables], { remedy: 'install make' })
  cpSync(join(root, 'native', out, 'sluice.node'), engineOf({ name }))
}

/** Returns the file of an engine. Throws if it was not built. */
export function builtEngine(target: Target): string {
  const file = engineOf(target)
  if (!existsSync(file)) throw new Error(`${file} is missing: omit --native, or run npm run build first`)
  return file
}

export const engineOf = ({ name }: Pick<Target, 'name'>): string =>
  join(root, 'native', 'prebuilds', name, 'sluice.node')
