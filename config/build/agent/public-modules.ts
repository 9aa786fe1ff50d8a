/** In the single-file agent, instead of platform/plugins/public-modules.ts: the file itself has the exports. */
export const publicModules: Readonly<Record<string, URL>> = {
  'sluice/agent-plugin': new URL(import.meta.url)
}
