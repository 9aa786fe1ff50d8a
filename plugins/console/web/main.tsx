import './app/styles.ts'
import { createRoot } from 'react-dom/client'
import { meQuery } from './api/me.ts'
import { queryClient } from './api/query-client.ts'
import { App } from './app/App.tsx'
import { finishSignIn } from './app/sign-in-link.ts'
import { pageAt } from './pages/pages.ts'
import { loadText } from './text/text.ts'

void start()

/** A function, because the chunks of pages import that of this file: they would wait for an `await` of the module. */
async function start(): Promise<void> {
  await finishSignIn()
  // Starts the requests of the first page early. The gate and the page show a failure.
  void queryClient.prefetchQuery(meQuery)
  await loadText() // before the page, because its modules read texts when they are evaluated
  await pageAt(location.pathname)
    ?.load()
    .catch(() => {})
  createRoot(document.getElementById('root') as HTMLElement).render(<App />)
}
