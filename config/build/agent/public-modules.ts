/** Replaces kernel/platform/plugins/public-modules.ts in the single-file agent: the file itself has the exports. */
export const publicModules: Readonly<Record<string, URL>> = {
  'sluice/agent-plugin': new URL(import.meta.url)
}
