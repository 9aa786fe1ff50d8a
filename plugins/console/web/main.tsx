import './app/styles.ts'
import { createRoot } from 'react-dom/client'
import { App } from './app/App.tsx'
import { loadText } from './text/text.ts'

await loadText()
createRoot(document.getElementById('root') as HTMLElement).render(<App />)
