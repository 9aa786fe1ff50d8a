// Turns the Markdown of the repository and the generated documents into pages.
import { globSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { generatedDocuments } from '../documents.ts'
import { type Page, root } from './page.ts'

const named: readonly (readonly [group: string, file: string, path: string, title: string])[] = [
  ['Start', 'README.md', 'index.html', 'Overview'],
  ['Start', 'docs/OPERATING.md', 'operating.html', 'A day of operation'],
  ['Start', 'docs/INSTALL.md', 'install.html', 'Install sluice'],
  ['Start', 'docs/CLI.md', 'cli.html', 'The command line'],
  ['Start', 'docs/IMPORT.md', 'import.html', 'Import from another forwarder'],
  ['Start', 'docs/CLUSTER.md', 'cluster.html', 'A cluster'],
  ['Start', 'docs/SIGN-IN.md', 'sign-in.html', 'Sign-in and tokens'],
  ['Start', 'GLOSSARY.md', 'glossary.html', 'Glossary'],
  ['Start', 'SECURITY.md', 'security.html', 'Security'],
  ['Start', 'CHANGELOG.md', 'changelog.html', 'Changelog'],
  ['Reference', 'docs/ERRORS.md', 'errors.html', 'Errors'],
  ['Reference', 'docs/EVENTS.md', 'events.html', 'Log events'],
  ['Developers', 'plugins/README.md', 'plugins/index.html', 'Writing a plugin'],
  ['Developers', 'docs/PLUGIN-API.md', 'plugin-api.html', 'Plugin API'],
  ['Developers', 'ARCHITECTURE.md', 'architecture.html', 'Architecture'],
  ['Developers', 'kernel/README.md', 'kernel.html', 'The kernel'],
  ['Developers', 'agent/README.md', 'agent.html', 'The agent'],
  ['Developers', 'native/README.md', 'native.html', 'The native engine'],
  ['Developers', 'test/bench/RESULTS.md', 'benchmarks.html', 'Benchmarks']
]

/** Every README of a folder is a page; so are the documents at the top level and in docs/. */
export async function documents(): Promise<readonly Page[]> {
  const generated = await generatedDocuments()
  const files = globSync(
    ['docs/*.md', '*.md', '{agent,native,kernel,plugins}/**/README.md', 'test/{bench,third-party}/**/*.md'],
    { cwd: root, exclude: ['**/node_modules/**', '**/template/**'] }
  )
  const others = files.filter(file => !named.some(([, known]) => known === file)).sort()
  return [
    ...named.map(([group, file, path, title]) => pageOf(group, file, path, title, generated[file])),
    ...others.map(file => pageOf(groupOf(file), file, pathOf(file), basename(dirname(file))))
  ]
}

const pageOf = (
  group: string,
  file: string,
  path: string,
  title: string,
  text = readFileSync(join(root, file), 'utf8')
): Page => ({
  path,
  title,
  group,
  source: file,
  text: text.replaceAll(/^(```\w*) .*$/gm, '$1'), // removes the file name of a listing
  hasRows: group === 'Reference' || group === 'Plugins' || path === 'glossary.html'
})

const groupOf = (file: string): string =>
  file.startsWith('plugins/') ? 'Plugins' : file.startsWith('test/third-party/') ? 'Examples' : 'Developers'

const pathOf = (file: string): string =>
  file
    .replace(/^test\/third-party\//, 'examples/')
    .replace(/(\/README)?\.md$/, '.html')
    .toLowerCase()
