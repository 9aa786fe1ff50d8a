// The configurations of the corpora, and what they become.
import { globSync } from 'node:fs'
import { dirname, isAbsolute, join, relative } from 'node:path'
import { convert, type SourceName } from '../convert.ts'

const folder = join(import.meta.dirname, 'fixtures')

/** Files that are converted together with a first one. */
const others: Readonly<Record<string, readonly string[]>> = {
  'frp/frps.toml': ['frp/clients/home.toml', 'frp/clients/lab.yaml'],
  'frp/frps-old.ini': ['frp/clients/filtered.ini'],
  'rathole/server.toml': ['rathole/clients/office.toml']
}

/** Variables of the environment that fixtures name. */
const environment = { FRP_SERVER: 'relay.example.org', FRP_DISK_PORT: '6445', FRP_TOKEN: 'never-shown' }

interface Fixture {
  readonly source: SourceName
  readonly name: string // 'nginx/nginx.conf'
  readonly paths: readonly string[]
}

/** The files of the corpora. Files in deeper folders belong to others. */
export const fixtures: readonly Fixture[] = globSync('*/*.*', { cwd: folder })
  .sort()
  .map(name => ({
    source: dirname(name) as SourceName, // folders are named after sources
    name,
    paths: [name, ...(others[name] ?? [])].map(path => join(folder, path))
  }))

/** Returns the name of a file in the rows of its source. */
export const shownName = (source: SourceName, path: string): string =>
  isAbsolute(path) ? relative(join(folder, source), path) : path

/** Converts a fixture. Names of files in the result are without their folder. */
export function convertFixture(
  { source, paths }: Fixture,
  options: { readonly owner?: string; readonly exit?: string } = {}
) {
  const { owner, exit } = options
  const { rules, report } = convert({ source, files: paths, client: undefined, exit, owner, environment })
  const rows = report.rows.map(row => ({ ...row, file: shownName(source, row.file) }))
  return { rules, rows, report }
}
