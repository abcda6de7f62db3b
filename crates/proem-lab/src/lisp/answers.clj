;; Reads expressions from standard input, one a line, and prints the value of each on a line.
;; ERR stands for an exception, UNKNOWN for a name that Clojure doesn't have, SLOW for more than five seconds.
(require '[clojure.string :as str] '[clojure.set :as set] '[clojure.walk :as walk] 'clojure.math)

(defn- failure [^Throwable thrown]
  (let [messages (keep #(.getMessage ^Throwable %) (take-while some? (iterate #(.getCause ^Throwable %) thrown)))]
    (if (some #(re-find #"Unable to resolve symbol|No such namespace|No such var|ClassNotFound" %) messages) "UNKNOWN" "ERR")))

;; Each expression has a namespace of its own, so that what one defines hides nothing from the next.
(defn- fresh-namespace []
  (remove-ns 'question)
  (binding [*ns* (create-ns 'question)]
    (refer 'clojure.core)
    (doseq [[short long] '{str clojure.string set clojure.set walk clojure.walk}] (alias short long))
    *ns*))

(defn- answer [line]
  (binding [*out* (java.io.StringWriter.) *ns* (fresh-namespace) *print-namespace-maps* false *print-length* 1000]
    (let [value (future (try (pr-str (eval (read-string line))) (catch Throwable thrown (failure thrown))))]
      (deref value 5000 "SLOW"))))

(doseq [line (line-seq (java.io.BufferedReader. (java.io.InputStreamReader. System/in "UTF-8")))]
  (let [out (java.io.PrintStream. (java.io.FileOutputStream. java.io.FileDescriptor/out) true "UTF-8")]
    (.println out ^String (str/escape (answer line) {\newline "\\n" \tab "\\t"}))))
(shutdown-agents)
(System/exit 0)
