import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { outDir } from './run.ts'
import { type Target, targets } from './targets.ts'

const kindNames = ['npm', 'tarball', 'deb', 'rpm', 'image'] as const
export type Kind = (typeof kindNames)[number]

export interface Chosen {
  readonly kinds: readonly Kind[]
  readonly machines: readonly Target[]
  readonly native: 'cross' | 'local'
  readonly builds: boolean
  readonly out: string
}

/** Text to print instead of making packages. */
interface Answer {
  readonly text: string
  readonly exit: 0 | 2
}

const help = `Usage: npm run packages -- [OPTIONS]

Builds packages, with a list of the components of each (CycloneDX, .cdx.json) and SHA256SUMS of all files in the folder.
Prints the written files on standard output, and progress on standard error.

  --kind KIND       ${kindNames.join(', ')}; repeat it or separate kinds by commas (default: all)
  --target MACHINE  ${targets.map(({ name }) => name).join(', ')};
                    repeat it or separate machines by commas (default: all)
  --native WHICH    cross: compile the native engines for the machines (default); local: use those in native/prebuilds
  --build yes|no    no: use the existing dist/ (default: yes)
  --out DIR         the folder of the packages (default: dist/packages)
  --help            print this text

The same commit makes the same bytes. SOURCE_DATE_EPOCH sets the time of all files; default: that of the commit.
SLUICE_MAINTAINER and SLUICE_REVISION set the maintainer and the revision of .deb and .rpm.
`

/** Reads the command line. Invalid options are an answer with exit code 2. */
export function readOptions(argv: readonly string[]): Chosen | Answer {
  try {
    return parse(argv)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return { text: `${reason}\nnpm run packages -- --help lists the options\n`, exit: 2 }
  }
}

function parse(argv: readonly string[]): Chosen | Answer {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      kind: { type: 'string', multiple: true, default: [...kindNames] },
      target: { type: 'string', multiple: true, default: targets.map(({ name }) => name) },
      native: { type: 'string', default: 'cross' },
      build: { type: 'string', default: 'yes' },
      out: { type: 'string', default: outDir },
      help: { type: 'boolean', short: 'h', default: false }
    }
  })
  if (values.help) return { text: help, exit: 0 }
  const names = chosen(
    'target',
    values.target,
    targets.map(({ name }) => name)
  )
  const [native = 'cross'] = chosen('native', [values.native], ['cross', 'local'] as const)
  const [build] = chosen('build', [values.build], ['yes', 'no'] as const)
  return {
    kinds: chosen('kind', values.kind, kindNames),
    machines: targets.filter(({ name }) => names.includes(name)),
    native,
    builds: build === 'yes',
    out: resolve(values.out)
  }
}

/** Returns the chosen values, each once, in the order of `known`. Throws for an unknown one. */
function chosen<T extends string>(option: string, given: readonly string[], known: readonly T[]): T[] {
  const names = given.flatMap(text => text.split(','))
  const unknown = names.find(name => !known.some(one => one === name))
  if (unknown !== undefined)
    throw new Error(`--${option} must be one of ${known.join(', ')}, got ${JSON.stringify(unknown)}`)
  return known.filter(name => names.includes(name))
}
