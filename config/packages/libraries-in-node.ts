import { spawnSync } from 'node:child_process'

const script = 'console.log(JSON.stringify(process.versions))'

interface LibraryInNode {
  readonly kind: 'library'
  readonly name: string
  readonly version: string
  readonly purl: string
}

interface Found {
  readonly parts?: readonly LibraryInNode[]
  readonly note?: string
}

/** Returns the libraries inside a Node program as it reports them, or a note if this machine cannot run it. */
export function librariesInNode(program: string): Found {
  const { status, stdout } = spawnSync(program, ['-e', script], { encoding: 'utf8', env: {} })
  if (status !== 0)
    return {
      note: 'libraries inside are not listed: the machine that built the package cannot run this Node'
    }
  const { node: _, modules: __, napi: ___, ...inside } = JSON.parse(stdout) as Record<string, string>
  const parts = Object.entries(inside).map(
    ([name, version]): LibraryInNode => ({
      kind: 'library',
      name,
      version,
      purl: `pkg:generic/${name}@${version}`
    })
  )
  return { parts }
}
